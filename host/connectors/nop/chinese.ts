/** The forms of nop in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '接收结果并丢弃。',
  sink: {
    log: ['日志', '将消息写入日志'],
  },
};
