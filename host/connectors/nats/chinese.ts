/** The forms of nats in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '订阅和发布 NATS 服务器的主题，读取其流，并在其键值桶中查询。',
  dataSource: '主题，用逗号分隔；可使用通配符 * 和 >。使用 bucket 时为键；为空表示全部',
  connection: {
    server: ['服务器地址', '服务器地址：nats://host:port 或 tls://host:port；多个地址用逗号分隔'],
    username: ['用户名', '登录用户名'],
    password: ['密码', '登录密码'],
    token: ['令牌', '登录令牌'],
    nkeySeed: ['nkey 种子', '用于登录的 nkey 种子'],
    credentials: ['凭据', '凭据文件的内容：用户的 JWT 和种子'],
    timeout: ['超时', '等待服务器应答的最长时间'],
  },
  source: {
    queue: ['队列组', '队列组：每条消息只发给其中一个成员'],
    stream: ['流', '要读取的 JetStream 流'],
    bucket: ['键值桶', '要读取其变更的键值桶'],
    durable: ['持久消费者', '持久消费者，不存在时创建：服务器保留未确认的消息'],
    deliverPolicy: ['起始位置', '首次读取流的起始位置；为空：all，使用 bucket 时为 lastPerSubject'],
    startSequence: ['起始序号', 'startSequence 时第一条消息的序号'],
    startTime: ['起始时间', 'startTime 时第一条消息的时间'],
    ackWait: ['确认等待时间', '服务器重新发送未确认消息之前的时间'],
    maxAckPending: ['最大未确认数', '未确认消息的最大数量'],
  },
  sink: {
    subject: ['主题', '要发布的主题'],
    headers: ['消息头', '每条消息的消息头'],
    jetStream: ['JetStream', '消息由流接收并逐条确认'],
    messageIds: ['消息 ID', '使用 jetStream 时：消息头 Nats-Msg-Id 中的 ID，流据此识别重复发送的消息'],
  },
};
