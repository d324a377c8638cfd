/** The forms of logToMemory in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '内存日志',
  about: '在引擎结束之前将最新的消息保留在内存中：最多 1000 条，共 1 MiB 文本。',
};
