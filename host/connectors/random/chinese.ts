/** The forms of random in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '随机数',
  about: '生成由随机整数组成的行。',
  source: {
    interval: ['间隔时间', '两行之间的间隔'],
    seed: ['数值个数', '每列可取的数值个数，从样式中的数值开始'],
    pattern: ['样式', '各列及其最小值，例如 {"count":50}'],
    deduplicate: ['去除重复', '省略与最近若干行相同的行；-1 表示最近一百万行'],
  },
};
