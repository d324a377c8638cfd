/** Properties of requests over HTTP in Chinese. */
import type { FieldTexts } from '../base/fields/form-texts.js';

export const httpTexts: FieldTexts = {
  method: ['方法', '请求的方法'],
  timeout: ['超时', '请求及其应答的最长时间'],
  headers: ['请求头', '请求的头；使用 oauth 时可以是令牌的模板：Bearer {{.access_token}}'],
  bodyType: ['正文类型', '正文的类型，决定 Content-Type；未设置时 get 与 head 无正文，其余为 json'],
  responseType: ['应答类型', '如何判断成功：仅状态码，或同时检查 JSON 应答的 code 成员'],
  oauth: ['OAuth', '通过 OAuth 获取令牌'],
  'oauth.access': ['获取令牌', '如何获取令牌'],
  'oauth.access.url': ['地址', '获取令牌的地址；为空时不使用 OAuth'],
  'oauth.access.body': ['正文', '获取令牌的请求正文，JSON'],
  'oauth.access.headers': ['请求头', '请求的头'],
  'oauth.access.expire': ['有效期', '令牌的有效期（秒），可以是应答的模板；过半时获取新令牌'],
  'oauth.refresh': ['刷新令牌', '如何刷新令牌'],
  'oauth.refresh.url': ['地址', '刷新令牌的地址；为空时重新获取'],
  'oauth.refresh.body': ['正文', '请求的正文，可以是上一个令牌的模板'],
  'oauth.refresh.headers': ['请求头', '请求的头，可以是上一个令牌的模板'],
  debugResp: ['记录应答', '将每个应答写入日志'],
};
