/** The forms of memory in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '内存',
  about: '通过内存主题连接规则。',
  dataSource: '其他规则的输出所写入的主题；可使用通配符 + 和 #',
  sink: {
    topic: ['主题', '接收数据的主题，不含通配符'],
  },
};
