/** The forms of redis in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '在 Redis 服务器中按键查询行，或写入行：值为 JSON 文本。',
  dataSource: '数据库编号，0 到 15',
  connection: {
    addr: ['服务器地址', 'Redis 服务器的地址：host:port'],
    username: ['用户名', '登录用户名；为空时使用默认用户'],
    password: ['密码', '登录密码'],
  },
  lookup: {
    dataType: ['数据类型', '键的内容。string：一行；list：多行。每行为对象的 JSON'],
  },
  sink: {
    db: ['数据库', '数据库编号'],
    key: ['键', 'keyType 为 single 时每行写入的键'],
    field: ['键字段', '其值作为键的字段，优先于 key'],
    keyType: ['键类型', 'single：写入整行；multiple：写入行的每个字段，字段名为键'],
    dataType: ['数据类型', 'string：替换键的值（SET）；list：插入列表头部（LPUSH）'],
    expiration: ['过期时间', '写入后键的保留时间；-1 和 0 表示永久'],
    rowkindField: [
      '行类型字段',
      '指明更改类型的字段：insert、update、upsert 写入行；delete 删除键（DEL）或列表的第一行（LPOP）',
    ],
  },
};
