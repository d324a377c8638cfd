/** The forms of httppush in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '接收客户端发送到数据服务器某一路径的内容；路径即 DATASOURCE。',
  dataSource: '数据服务器接收消息的路径，例如 /api/data',
  source: {
    method: ['方法', '请求的方法'],
  },
};
