/** The forms of sources and sinks of plugins in Chinese, where the plugin itself brings none. */
import type { ConnectorTexts } from '../define.js';

export function chineseOf(plugin: string): ConnectorTexts {
  return {
    about: `由便携插件 ${plugin} 提供。`,
    dataSource: '由插件自行解释',
    sink: { requireAck: ['需要确认', '插件确认或拒绝每条消息'] },
  };
}
