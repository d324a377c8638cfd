/** The forms of mqtt in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '订阅和发布 MQTT 代理的主题。',
  dataSource: '要订阅的主题；可使用通配符 + 和 #',
  connection: {
    server: ['服务器地址', 'MQTT 代理的地址：tcp://host:port，使用 TLS 时为 ssl://host:port'],
    username: ['用户名', '登录用户名'],
    password: ['密码', '登录密码'],
    protocolVersion: ['协议版本', '协议版本：3.1.1（或 4）或 5'],
    clientid: ['客户端 ID', '客户端 ID；为空时自动生成'],
    keepAlive: ['心跳间隔', '检查连接前允许的最长静默时间'],
  },
  source: {
    qos: ['服务质量（QoS）', '订阅的服务质量'],
    enableClientSession: ['保持会话', '断开期间代理保留会话；需要 clientid'],
    sessionExpiryIntervalSeconds: ['会话过期时间（秒）', '代理保留会话的时间（MQTT 5）'],
    eofMessage: ['结束消息', '表示流结束的消息，base64 编码'],
  },
  sink: {
    topic: ['主题', '要发布的主题，不含通配符'],
    qos: ['服务质量（QoS）', '服务质量'],
    retained: ['保留消息', '代理为新订阅者保留最后一条消息'],
    properties: ['属性', '每条消息的用户属性（MQTT 5）'],
    messageIdProperty: ['消息 ID 属性', '携带每条消息 ID 的用户属性（MQTT 5，QoS 1 或 2）：重发时 ID 不变'],
  },
};
