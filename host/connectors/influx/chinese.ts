/** The forms of influx in Chinese. */
import { pointTexts } from '../../clients/influx/chinese.js';
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '将每一行作为数据点写入 InfluxDB 1.x。',
  sink: {
    ...pointTexts,
    database: ['数据库', '写入数据点的数据库'],
    username: ['用户名', '登录用户名'],
    password: ['密码', '登录密码'],
  },
};
