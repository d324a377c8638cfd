/** Words that all forms share in Chinese, by key. */
export const wordTexts = {
  output: '输出',
  dataSource: '数据源',
} as const;
