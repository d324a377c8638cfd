/** The forms of redisStream in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '读取 Redis 服务器的流，并向其添加条目。',
  dataSource: '流的键',
  connection: {
    address: ['服务器地址', 'Redis 服务器的地址：host:port'],
    username: ['用户名', '登录用户名；为空时使用默认用户'],
    password: ['密码', '登录密码'],
    db: ['数据库', '数据库编号'],
  },
  source: {
    group: ['消费者组', '消费者组，不存在时创建：服务器保留未确认的条目'],
    consumer: ['消费者', '组内的名称；为空时使用流的名称'],
    startId: ['起始 ID', '首次从该 ID 之后读取：0 表示全部条目，$ 表示新条目'],
    field: ['字段', '条目中包含消息的字段；为空时所有字段组成的 JSON 对象即为消息'],
    claimAfter: ['接管时间', '其他消费者未确认的条目在此时间后被接管'],
    maxPending: ['最大未确认数', '未确认条目的最大数量'],
  },
  sink: {
    stream: ['流', '要添加条目的流的键'],
    field: ['字段', '以 JSON 接收整行的字段；为空时行的每个成员是一个字段'],
    maxLen: ['最大长度', '超过此数量时删除最旧的条目（可略多）；0 表示不删除'],
  },
};
