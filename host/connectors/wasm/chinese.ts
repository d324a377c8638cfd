/** The forms of wasm in Chinese. */
import type { ConnectorTexts } from '../define.js';

const args = ['参数', '程序的参数，位于插件自身参数之后'] as const;

export const chinese: ConnectorTexts = {
  about: '运行 WebAssembly 插件的程序：程序输出的每一行是一条消息，消息作为程序读取的行。',
  dataSource: '带有程序的插件的名称',
  source: { args: [...args] },
  sink: { plugin: ['插件', '带有程序的插件的名称'], args: [...args] },
};
