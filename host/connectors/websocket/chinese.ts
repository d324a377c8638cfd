/** The forms of websocket in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '通过 WebSocket 接收和发送消息。',
  dataSource: '端点的路径，例如 /api/data',
  connection: {
    addr: ['服务器地址', '服务器的主机与端口'],
    scheme: ['协议', 'wss 使用 TLS'],
    path: ['路径', '端点的路径；为空时源使用 DATASOURCE'],
    requestHeader: ['请求头', '打开连接的请求的头；每项为文本或列表'],
  },
};
