/** The forms of tdengine3 in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '通过 taosAdapter 的 REST 接口将每一行插入 TDengine 3 的表。',
  sink: {
    host: ['主机', '服务器的主机'],
    ssl: ['使用 HTTPS', '请求通过 HTTPS 发送'],
    port: ['端口', 'taosAdapter 的端口'],
    user: ['用户名', '登录用户名'],
    password: ['密码', '登录密码'],
    database: ['数据库', '表所在的数据库'],
    table: ['表', '插入行的表；可为行的模板'],
    sTable: ['超级表', '用于创建缺失的表；可为行的模板'],
    tagFields: ['标签字段', '设置超级表时作为标签的列'],
    fields: ['字段', '插入的列，每一行都必须具有；为空时插入除标签外的所有列'],
    provideTs: ['提供时间戳', '时间取自行的时间戳字段；否则使用服务器的时钟'],
    tsFieldName: ['时间戳字段', '时间列的名称'],
    timeout: ['超时', '请求与应答的最长时间'],
  },
};
