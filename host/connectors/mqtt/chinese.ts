/** The forms of mqtt in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '订阅和发布 MQTT 代理的主题。',
  dataSource: '要订阅的主题；可使用通配符 + 和 #',
  connection: {
    server: [
      '服务器地址',
      'MQTT 代理的地址：tcp://host:port，使用 TLS 时为 ssl://host:port，WebSocket 为 ws:// 或 wss://host:port/path',
    ],
    username: ['用户名', '登录用户名'],
    password: ['密码', '登录密码'],
    protocolVersion: ['协议版本', '协议版本：3.1.1（或 4）或 5'],
    clientid: ['客户端 ID', '客户端 ID；为空时自动生成'],
    will: ['遗嘱', '连接丢失时代理发布的消息'],
    'will.topic': ['主题', '遗嘱的主题；为空时没有遗嘱'],
    'will.payload': ['消息', '遗嘱的内容'],
    'will.qos': ['服务质量（QoS）', '遗嘱的服务质量'],
    'will.retained': ['保留消息', '代理为新订阅者保留遗嘱'],
    'will.delayInterval': ['延迟', '代理等待客户端重新连接的时间（MQTT 5）'],
    'will.properties': ['属性', '用户属性（MQTT 5）'],
    keepAlive: ['心跳间隔', '检查连接前允许的最长静默时间'],
  },
  source: {
    qos: ['服务质量（QoS）', '订阅的服务质量'],
    enableClientSession: ['保持会话', '断开期间代理保留会话；需要 clientid'],
    sessionExpiryIntervalSeconds: ['会话过期时间（秒）', '代理保留会话的时间（MQTT 5）'],
    receiveMaximum: ['接收上限', '代理最多发送的未确认消息数（MQTT 5）'],
    topicAliasMaximum: ['主题别名上限', '代理可使用的主题别名数（MQTT 5，QoS 0）'],
    noLocal: ['不接收本客户端消息', '同一客户端发布的消息不会返回（MQTT 5）'],
    retainAsPublished: ['保持保留标志', 'meta(retained) 与发送者设置一致（MQTT 5）'],
    retainHandling: ['保留消息处理', '每次订阅发送（0），新订阅发送（1），不发送（2）（MQTT 5）'],
    eofMessage: ['结束消息', '表示流结束的消息，base64 编码'],
  },
  sink: {
    topic: ['主题', '要发布的主题，不含通配符'],
    qos: ['服务质量（QoS）', '服务质量'],
    retained: ['保留消息', '代理为新订阅者保留最后一条消息'],
    properties: ['属性', '每条消息的用户属性（MQTT 5）'],
    contentType: ['内容类型', '消息的内容类型，例如 application/json（MQTT 5）'],
    responseTopic: ['响应主题', '响应消息的主题（MQTT 5）'],
    correlationData: ['关联数据', '用于匹配响应的文本（MQTT 5）'],
    messageExpiryInterval: ['消息过期时间', '代理保留未送达消息的时间；0 表示一直保留（MQTT 5）'],
    topicAlias: ['主题别名', '每个连接只发送一次主题，之后使用别名（MQTT 5，QoS 1 或 2）'],
    messageIdProperty: ['消息 ID 属性', '携带每条消息 ID 的用户属性（MQTT 5，QoS 1 或 2）：重发时 ID 不变'],
  },
};
