/** The forms of memory in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '内存',
  about: '通过内存主题连接规则。',
  dataSource: '其他规则的输出所写入的主题；可使用通配符 + 和 #',
  sink: {
    topic: ['主题', '接收数据的主题，不含通配符'],
    rowkindField: ['行类型字段', '指明查询表更改类型的列：insert、update、upsert 或 delete'],
    keyField: ['键字段', '含有被删除行的键的列；设置 rowkindField 时必填'],
  },
};
