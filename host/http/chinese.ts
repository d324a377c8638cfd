/** Properties of requests over HTTP in Chinese. */
import type { FieldTexts } from '../base/fields/form-texts.js';

export const httpTexts: FieldTexts = {
  method: ['方法', '请求的方法'],
  timeout: ['超时', '请求及其应答的最长时间'],
  headers: ['请求头', '请求的头；使用 oauth 时可以是令牌的模板：Bearer {{.access_token}}'],
  bodyType: ['正文类型', '正文的类型，决定 Content-Type；未设置时 get 与 head 无正文，其余为 json'],
  responseType: ['应答类型', '如何判断成功：仅状态码，或同时检查 JSON 应答的 code 成员'],
  oauth: ['OAuth', '通过 OAuth 获取令牌'],
  debugResp: ['记录应答', '将每个应答写入日志'],
};
