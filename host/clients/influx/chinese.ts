/** The properties of points in Chinese. */

/** Texts of what both connectors for InfluxDB have. */
export const pointTexts = {
  addr: ['服务器地址', '服务器的地址，例如 http://127.0.0.1:8086'],
  measurement: ['度量', '写入数据点的度量（measurement）'],
  tags: ['标签', '每个数据点的标签；值可为行的模板，例如 {{.device}}；空值不写入'],
  fields: ['字段', '作为字段写入的列；为空时写入所有列。BIGINT 类型的整数写为整数'],
  precision: ['时间精度', '时间戳的单位'],
  tsFieldName: ['时间戳字段', '作为时间戳的列，单位与时间精度一致；为空时使用发送时间'],
  batchSize: ['批量大小', '累积到该数量的数据点后一起发送；0 和 1 表示不等待'],
  lingerInterval: ['批量等待时间', '设置批量大小时数据点的最长等待时间；0 表示不限'],
  timeout: ['超时', '请求与应答的最长时间'],
} as const;
