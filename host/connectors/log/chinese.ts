/** The forms of log in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '日志',
  about: '将每条消息写入日志。',
};
