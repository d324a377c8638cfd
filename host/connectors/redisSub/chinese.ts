/** The forms of redisSub in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '订阅 Redis 服务器的频道。',
  connection: {
    address: ['服务器地址', 'Redis 服务器的地址：host:port'],
    username: ['用户名', '登录用户名；为空时使用默认用户'],
    password: ['密码', '登录密码'],
    db: ['数据库', '数据库编号'],
  },
  source: { channels: ['频道', '要订阅的频道；可使用通配符 *、? 和 [ ]'] },
};
