/** The forms of kafka in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '读取和写入 Kafka 集群的主题。',
  dataSource: '要读取的主题；多个主题用逗号分隔',
  connection: {
    brokers: ['Broker 地址', '起始 broker 的地址，用逗号分隔：host:port'],
    saslAuthType: ['认证方式', '登录方式：plain 或 scram（SCRAM-SHA-512）'],
    saslUserName: ['用户名', '登录用户名'],
    password: ['密码', '登录密码'],
  },
  source: {
    groupID: ['消费组', '消费组，其成员分担分区；为空时只读取一个分区的新消息'],
    partition: ['分区', '没有消费组时要读取的分区'],
    maxBytes: ['最大字节数', 'Broker 一次发送的最大字节数'],
    maxAttempts: ['最大尝试次数', '判定连接丢失之前的尝试次数'],
    isolationLevel: ['隔离级别', '是否忽略未完成和已中止事务的消息'],
  },
  sink: {
    topic: ['主题', '要写入的主题'],
    key: ['键', '每条消息的键，用于选择分区'],
    headers: ['消息头', '每条消息的消息头：对象，或其 JSON 文本'],
    requiredACKs: ['确认', '消息算作已发送之前由谁确认：1 为 leader，-1 为所有同步副本，0 为无'],
    maxAttempts: ['最大尝试次数', '判定连接丢失之前发送一个批次的尝试次数'],
    batchSize: ['批大小', 'lingerInterval 所等待的批次消息数'],
    lingerInterval: ['等待时间', '批次等待更多消息的时间'],
    batchBytes: ['批字节数', '最大的批次和最大的消息，字节'],
    compression: ['压缩', '批次的压缩方式'],
    transactionalIdPrefix: ['事务标识前缀', 'qos 为 2 时事务标识的前缀；写入同一集群的每个引擎应各不相同'],
  },
};
