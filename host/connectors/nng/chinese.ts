/** The forms of nng in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: 'Neuron 连接器的 nng 连接。',
  connection: { url: ['地址', '对方监听的地址：tcp://host:port 或 ipc:///path'] },
};
