/** The forms of influx2 in Chinese. */
import { pointTexts } from '../../clients/influx/chinese.js';
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '将每一行作为数据点写入 InfluxDB 2。',
  sink: {
    ...pointTexts,
    org: ['组织', '存储桶所属的组织'],
    bucket: ['存储桶', '写入数据点的存储桶'],
    token: ['令牌', '具有写权限的令牌'],
    useLineProtocol: ['行协议', '整数不带整数标记；设置 dataTemplate 时消息即为各行'],
  },
};
