/** The forms of sse in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '接收服务器的事件（SSE），并将结果作为事件发送给数据服务器的客户端。',
  dataSource: '服务器上的路径，接在地址之后',
  source: {
    url: ['地址', '事件流的地址'],
    headers: ['请求头', '请求的头'],
    token: ['令牌', 'Bearer 令牌'],
    events: ['事件', '接收的事件名称；为空时接收所有事件'],
    timeout: ['超时', '等待应答开始的最长时间'],
    idleTimeout: ['静默超时', '连接无数据的最长时间，之后视为断开；0 表示不限'],
  },
  sink: { endpoint: ['端点', '数据服务器上客户端接收事件的路径'] },
};
