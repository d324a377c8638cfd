/** The forms of neuron in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '接收 Neuron 网关采集的数据，并通过 Neuron 写入数据。',
  connection: { url: ['地址', 'Neuron 监听的地址：tcp://host:port 或 ipc:///path'] },
  sink: {
    nodeName: ['节点名称', '接收数据的 Neuron 节点'],
    groupName: ['分组名称', '节点的分组'],
    tags: ['标签', '作为标签发送的列；可为行的模板；为空时发送所有列'],
    raw: ['原始数据', '按原样发送行'],
  },
};
