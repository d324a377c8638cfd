/** The forms of rabbitmq in Chinese. */
import type { ConnectorTexts } from '../define.js';

const made = {
  exchangeType: ['交换机类型', '交换机的类型，不存在时创建；为空表示交换机必须已存在'],
  durable: ['持久', '创建的队列和交换机在服务器重启后保留'],
  autoDelete: ['自动删除', '创建的队列随最后一个读取者删除'],
  exclusive: ['独占', '队列仅供此连接使用'],
} as const;

export const chinese: ConnectorTexts = {
  about: '从 RabbitMQ 的队列读取消息，并发布到其交换机。',
  dataSource: '队列（属性 queue 为空时）',
  connection: {
    server: ['服务器地址', '服务器地址：amqp://host:port/虚拟主机，使用 TLS 时为 amqps://'],
    username: ['用户名', '登录用户名；为空时使用地址中的用户名或 guest'],
    password: ['密码', '登录密码；为空时使用地址中的密码或 guest'],
    heartbeat: ['心跳间隔', '检查连接前允许的最长静默时间；静默两倍时间的服务器视为断开'],
    timeout: ['超时', '等待服务器应答的最长时间'],
  },
  source: {
    queue: ['队列', '要读取的队列，不存在时创建；为空时将自有队列绑定到交换机'],
    exchange: ['交换机', '队列绑定的交换机；为空表示不绑定'],
    routingKey: ['路由键', '绑定的路由键'],
    ...made,
    prefetchCount: ['预取数量', '未确认消息的最大数量；0 表示最大值 65535'],
  },
  sink: {
    exchange: ['交换机', '要发布的交换机；为空表示默认交换机'],
    routingKey: ['路由键', '每条消息的路由键；为空时为队列名'],
    queue: ['队列', '创建并绑定到交换机的队列'],
    ...made,
    headers: ['消息头', '每条消息的消息头'],
    contentType: ['内容类型', '每条消息的内容类型，例如 application/json'],
    persistent: ['持久消息', '服务器将消息保存到磁盘'],
    mandatory: ['必须路由', '没有队列接收的消息视为失败；为此每条消息带有 messageId'],
  },
};
