/** The forms of simulator in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '模拟器',
  about: '发送配置中给定的数据。',
  source: {
    data: ['数据', '要发送的数据'],
    interval: ['间隔时间', '两条数据之间的间隔'],
    loop: ['循环', '最后一条之后重新开始'],
  },
};
