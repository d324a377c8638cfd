/** The forms of zmq in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '订阅 ZeroMQ 的发布者，并向其订阅者发布消息。',
  dataSource: '要订阅的主题的开头；为空表示全部消息，此时消息没有主题',
  connection: { server: ['服务器地址', '地址：tcp://host:port，或 ipc:// 加套接字路径'] },
  sink: {
    topic: ['主题', '主题，每条消息的第一部分；为空时消息只有一部分'],
    waitForSlow: ['等待慢订阅者', '等待无法接收的订阅者（其他订阅者也随之等待）；否则它会丢失消息'],
  },
};
