/** The forms of rest in Chinese. */
import { httpTexts } from '../../http/chinese.js';
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '将每条消息作为 HTTP 请求发送。',
  sink: {
    ...httpTexts,
    url: ['地址', '请求发往的地址'],
    formData: ['表单数据', 'bodyType 为 formdata 时表单的其他字段'],
    fileFieldName: ['文件字段名', 'bodyType 为 formdata 时包含消息的字段的名称'],
    maxAttempts: ['最大尝试次数', '服务器以 408 或 5xx 应答的消息的发送次数，之后视为被拒绝；0 表示一直重试'],
    concurrency: ['并发数', '同时进行的请求数；大于 1 时消息可能不按顺序到达'],
  },
};
