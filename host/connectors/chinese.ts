/** The forms of connectors in Chinese. */
import type { FieldTexts, FormTexts } from '../base/fields/form-texts.js';
import type { Connector, ConnectorTexts } from './define.js';

/** Properties of all connectors. */
const common: FieldTexts = {
  useInt64ForWholeNumber: ['整数使用 int64', '未声明列的整数为 64 位整数'],
  connectionSelector: ['复用连接信息', '使用其属性的命名连接'],
  deadLetter: ['死信动作', '接收无法发出的消息及其原因的动作：{"mqtt": {…}}'],
  enableCache: ['启用缓存', '目标暂时无法接收的消息在磁盘上等待'],
  memoryCacheThreshold: ['内存缓存阈值', '可在内存中短暂等待的消息数；超出的立即写入磁盘'],
  maxDiskCache: ['最大磁盘缓存', '可在磁盘上等待的消息数'],
  bufferPageSize: ['缓冲页大小', '一页的消息数；页作为整体写入'],
  resendInterval: ['重发间隔', '两条等待过的消息之间的时间；0 表示尽快发送'],
  cleanCacheAtStop: ['停止时清理缓存', '规则停止时丢弃等待的消息'],
  resendAlterQueue: ['使用备用队列重发', '等待过的消息与新消息并行发送；否则按顺序发送'],
  resendPriority: ['重发优先级', '1 先发等待过的消息，-1 没有新消息时才发，0 交替发送'],
  resendIndicatorField: ['重发标识字段', '等待过的消息的行带有此字段，值为 true'],
  resendDestination: ['重发目标', '等待过的消息的去处，例如另一个主题'],
  cacheFullPolicy: ['缓存已满时', '磁盘上的消息达到上限时，源等待，或丢弃最旧的一页并计数'],
  interval: ['采样间隔', '每个间隔只读取最后一条消息，其余的不解码；0 读取全部'],
  mergeField: ['合并字段', '与 interval 一起使用：读取该字段每个值的最后一条消息，合并为一个对象，后者优先；用于 JSON'],
  payloadFormat: ['负载格式', '列 payloadField 中消息的格式：其各列取代该列'],
  payloadField: ['负载字段', '与 payloadFormat 一起使用：包含消息的列，文本或字节'],
  payloadSchemaId: ['负载模式', '与 payloadFormat 一起使用：消息的模式'],
  payloadDelimiter: ['负载分隔符', 'payloadFormat 为 delimited 时值之间的文本'],
  decompression: ['解压缩', '每条消息的压缩方式'],
  compression: ['压缩', '每条消息的压缩方式'],
  compressionProps: ['压缩属性', '消息如何压缩'],
  'compressionProps.level': ['压缩级别', '从 1（最快）到 9（最小）'],
  encryption: ['加密', '每条消息的加密方式，密钥为配置中的 basic.aesKey'],
  encProps: ['加密属性', '消息如何加密：iv、密文、标签；设置 aad 时为标签和密文'],
  'encProps.mode': ['模式', '密码的工作模式'],
  'encProps.iv': ['初始向量', 'base64：gcm 为 12 字节，cfb 为 16 字节，用于所有消息；未设置时每条消息各用一个，更安全'],
  'encProps.aad': ['附加数据', 'base64：gcm 模式下一并认证的数据；需要 iv'],
  'encProps.tagsize': ['标签大小', '设置 aad 时标签补足到的字节数'],
  cacheSync: ['缓存落盘', '页在算作安全之前强制写入磁盘，或由系统自行写入'],
  insecureSkipVerify: ['跳过证书验证', '接受对方的任何证书'],
  certificationPath: ['证书路径', '客户端证书文件'],
  privateKeyPath: ['私钥路径', '客户端私钥文件'],
  rootCaPath: ['根证书路径', '受信任证书文件'],
  certificationRaw: ['证书内容', '客户端证书，base64 编码'],
  privateKeyRaw: ['私钥内容', '客户端私钥，base64 编码'],
  rootCARaw: ['根证书内容', '受信任的证书，base64 编码'],
  decrypt: ['证书解密', '客户端证书和私钥整体加密时如何解密'],
  'decrypt.algorithm': ['算法', '加密算法；为空表示未加密'],
  'decrypt.key': ['密钥', '16、24 或 32 字节的密钥，base64 编码'],
  'decrypt.properties': ['加密属性', '如何加密'],
  'decrypt.properties.mode': ['模式', '密码的工作模式'],
  'decrypt.properties.iv': ['初始向量', 'base64；未设置时位于密文之前'],
  'decrypt.properties.aad': ['附加数据', 'base64：gcm 模式下一并认证的数据'],
  'decrypt.properties.tagsize': ['标签大小', '大于 16 时：标签补足到该字节数，位于密文之前'],
  tlsMinVersion: ['最低 TLS 版本', '允许的最低 TLS 版本'],
};

export interface ChineseForm extends FormTexts {
  readonly dataSource?: string;
}

/** Texts of the form of a part; undefined when nobody has put them into Chinese. */
export async function chineseForm(
  { chinese }: Connector,
  part: 'source' | 'sink' | 'connection',
): Promise<ChineseForm | undefined> {
  const texts: ConnectorTexts | undefined = await chinese?.();
  const own = part === 'source' ? { ...texts?.lookup, ...texts?.source } : texts?.[part];
  // Properties of a connection stand with the part that had them first.
  const shared = { ...texts?.sink, ...texts?.source, ...texts?.connection };
  return texts && { ...texts, props: { ...common, ...shared, ...own } };
}
