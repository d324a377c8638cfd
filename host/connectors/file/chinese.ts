/** The forms of file in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '文件',
  about: '读写引擎所在机器上的文件。',
  dataSource: '文件夹路径下的文件名或文件夹名',
  source: {
    fileType: [
      '文件类型',
      'json：对象数组或连续的对象；lines：每行一条消息；csv：每条记录一行数据，与流的格式无关；raw：整个文件为一条消息；parquet：带类型的行',
    ],
    path: ['路径', '文件所在的文件夹，不含其下的文件夹；相对路径位于数据文件夹中'],
    interval: [
      '间隔时间',
      '再次读取文件、或读取文件夹中新增和变更文件前的间隔；0 表示文件只读取一次，文件夹中的文件出现即读取',
    ],
    follow: [
      '跟踪',
      '随文件增长持续读取，每隔 interval 查看一次（0：250ms）：包括追加的内容，以及文件改名（NAME.1、NAME-2026-01-31 等）之后同名的后续文件。仅用于单个文件的 lines 类型',
    ],
    sendInterval: ['发送间隔', '两条消息之间的间隔'],
    ignoreStartLines: ['忽略起始行数', '每个文件开头忽略的行数'],
    ignoreEndLines: ['忽略结尾行数', '每个文件结尾忽略的行数'],
    hasHeader: ['是否含表头', '每个 csv 文件的首行为列名'],
    columns: ['列名', '无表头的 csv 文件的列名；默认为 cols0、cols1 …'],
    delimiter: ['分隔符', 'csv 文件中值之间的符号；默认为流的 DELIMITER 或逗号'],
    decompression: ['解压缩', '文件的压缩方式'],
    actionAfterRead: ['读取后的操作', '0 保留文件，1 删除文件，2 移动到 moveTo'],
    moveTo: ['移动到', '存放已读取文件的文件夹；名称已存在时在其后加上时间'],
  },
  sink: {
    path: [
      '路径',
      '要写入的文件，相对路径位于数据文件夹中；规则启动时缺少的文件夹会自动创建，之后消失的文件夹（如丢失的挂载）会等待其恢复；由模板生成的路径不会离开首个模板动作之前的文本所指的文件夹',
    ],
    fileType: [
      '文件类型',
      'lines：每条消息后换行；崩溃后缺少换行的最后一行会先补上换行；json：消息组成的数组；csv：delimited 格式的行，设置 hasHeader 时首行为表头；parquet：按值的类型分列的行，文件完成后才完整',
    ],
    compression: ['压缩', '文件的压缩方式'],
    encryption: ['加密', '压缩后对文件加密，密钥为 basic.aesKey：AES 的 cfb 模式，文件以 iv 开头'],
    maxOpenFiles: ['最大打开文件数', '路径含模板时同时打开的文件数；最久未使用的文件先关闭'],
    rollingInterval: ['滚动间隔', '文件有消息达到该时长后完成，并开始新文件；0 表示从不'],
    checkInterval: ['检查间隔', '两次检查文件时长之间的间隔'],
    rollingSize: ['滚动大小', '文件压缩前达到该字节数后完成；0 表示从不'],
    rollingCount: ['滚动条数', '文件达到该消息数后完成；0 表示从不；设置 rollingNamePattern 时默认 1000000，否则为 0'],
    rollingNamePattern: [
      '滚动文件命名方式',
      'prefix 与 suffix：文件名中含开始时间；none：新文件替换旧文件；未设置时完成的文件在名称中加上时间',
    ],
    rollingHook: ['滚动钩子', '对每个完成的文件执行的动作；http：以 JSON 将其路径告知服务器'],
    rollingHookProps: ['滚动钩子属性', '钩子的属性'],
    'rollingHookProps.url': ['地址', '被告知的地址'],
    'rollingHookProps.method': ['方法', '请求的方法'],
    'rollingHookProps.headers': ['请求头', '请求的头'],
    'rollingHookProps.timeout': ['超时', '请求及其应答的最长时间'],
  },
};
