/** The forms of prometheus in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '通过 Prometheus 的 remote write 将每一行的数值作为指标样本发送。',
  sink: {
    url: ['地址', '接收 remote write 的地址，例如 http://127.0.0.1:9090/api/v1/write'],
    metric: ['指标', '指标名称的开头，其后为 _ 与列名；为空时为列名'],
    labels: ['标签', '每个样本的标签；值可为行的模板，例如 {{.device}}；空值不发送'],
    fields: ['字段', '发送的列；为空时发送所有数值与布尔值'],
    tsFieldName: ['时间戳字段', '样本的时间（毫秒）；为空时使用发送时间'],
    username: ['用户名', '登录用户名'],
    password: ['密码', '登录密码'],
    token: ['令牌', 'Bearer 令牌，代替用户名与密码'],
    headers: ['请求头', '请求的其他头'],
    timeout: ['超时', '请求与应答的最长时间'],
  },
};
