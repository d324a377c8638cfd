/** The forms of edgex in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '从 EdgeX Foundry 的消息总线接收事件，并将行作为事件发布。',
  dataSource: '消息总线的主题，topic 为空时使用',
  connection: {
    protocol: ['协议', 'tcp，或使用 TLS 的 ssl、tls、mqtts、rediss'],
    server: ['服务器', '消息总线的主机'],
    port: ['端口', '消息总线的端口；0 表示默认端口'],
    type: ['类型', '消息总线的类型'],
    optional: ['可选配置', '消息总线的选项'],
    'optional.ClientId': ['客户端 ID', 'MQTT 代理上的客户端名称'],
    'optional.Username': ['用户名', '登录用户名'],
    'optional.Password': ['密码', '登录密码'],
    'optional.Qos': ['服务质量（QoS）', 'MQTT 的服务质量'],
    'optional.KeepAlive': ['心跳间隔', 'MQTT 心跳的间隔（秒）；0 表示 60'],
    'optional.Retained': ['保留消息', 'MQTT 代理保留主题的最后一条消息'],
    'optional.ConnectionPayload': ['连接负载', '仅为兼容而接受'],
    'optional.CertFile': ['证书文件', '客户端证书文件'],
    'optional.KeyFile': ['私钥文件', '客户端私钥文件'],
    'optional.CertPEMBlock': ['证书内容', '客户端证书，PEM 格式'],
    'optional.KeyPEMBlock': ['私钥内容', '客户端私钥，PEM 格式'],
    'optional.CaFile': ['根证书文件', '受信任证书文件'],
    'optional.CaPEMBlock': ['根证书内容', '受信任的证书，PEM 格式'],
    'optional.SkipCertVerify': ['跳过证书验证', '接受服务器的任何证书'],
    'optional.Format': ['格式', 'NATS 上的消息：带头的负载，或完整的信封'],
  },
  source: {
    topic: ['主题', '消息总线的主题；可使用通配符 + 和 #'],
    messageType: ['消息类型', '消息内容：事件，或添加事件的请求'],
  },
  sink: {
    topic: ['主题', '消息总线的主题；为空时为 application 或由主题前缀得出'],
    topicPrefix: ['主题前缀', '主题的开头，其后为事件的 profile、device 和 source 名称'],
    messageType: ['消息类型', '发送事件，或添加事件的请求'],
    contentType: ['内容类型', '信封中的内容类型'],
    metadata: ['元数据', '包含事件及读数元数据的列'],
    profileName: ['Profile 名称', '元数据中没有时事件的 profile'],
    deviceName: ['设备名称', '元数据中没有时事件的设备'],
    sourceName: ['来源名称', '元数据中没有时事件的来源；为空时为规则的 id'],
  },
};
