/** The forms of redisPub in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '向 Redis 服务器的频道发布消息。',
  connection: {
    address: ['服务器地址', 'Redis 服务器的地址：host:port'],
    username: ['用户名', '登录用户名；为空时使用默认用户'],
    password: ['密码', '登录密码'],
    db: ['数据库', '数据库编号'],
  },
  sink: { channel: ['频道', '要发布的频道'] },
};
