/** The forms of sql in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '读取数据库的表，在其中查询行，并向其写入行。',
  dataSource: '读取或查询的表',
  connection: {
    dburl: ['数据库地址', '数据库的地址：postgres://、mysql://、sqlserver:// 或 sqlite:'],
    timeout: ['超时', '等待数据库的最长时间：连接以及每条语句'],
  },
  source: {
    interval: ['间隔', '两次查询之间的时间'],
    internalSqlQueryCfg: ['查询', '由各部分组成的查询'],
    'internalSqlQueryCfg.table': ['表', '读取的表；未设置时为 DATASOURCE'],
    'internalSqlQueryCfg.limit': ['行数上限', '一次查询的最多行数；0 表示全部'],
    'internalSqlQueryCfg.indexField': ['索引列', '值递增的列：只查询大于上次值的行'],
    'internalSqlQueryCfg.indexValue': ['起始值', '首次查询从大于该值的行开始；未设置时查询所有行'],
    'internalSqlQueryCfg.indexFieldType': ['索引列类型', '时间列为 DATETIME'],
    'internalSqlQueryCfg.dateTimeFormat': ['时间格式', '时间的格式，例如 YYYY-MM-dd HH:mm:ss'],
    'internalSqlQueryCfg.indexFields': ['多个索引列', '按顺序列出多个索引列：只查询大于所有上次值的行'],
    templateSqlQueryCfg: ['查询模板', '模板形式的查询，优先于 internalSqlQueryCfg'],
    'templateSqlQueryCfg.templateSql': ['模板', '查询；{{.NAME}} 表示索引列的上次值，比较的值与语句分开发送'],
    'templateSqlQueryCfg.indexField': ['索引列', '值递增的列：只查询大于上次值的行'],
    'templateSqlQueryCfg.indexValue': ['起始值', '首次查询从大于该值的行开始；未设置时查询所有行'],
    'templateSqlQueryCfg.indexFieldType': ['索引列类型', '时间列为 DATETIME'],
    'templateSqlQueryCfg.dateTimeFormat': ['时间格式', '时间的格式，例如 YYYY-MM-dd HH:mm:ss'],
    'templateSqlQueryCfg.indexFields': ['多个索引列', '按顺序列出多个索引列：只查询大于所有上次值的行'],
  },
  lookup: {
    templateSqlQueryCfg: ['查询模板', '代替表查询的模板'],
  },
  sink: {
    table: ['表', '写入行的表'],
    fields: ['字段', '写入的列，缺少的成员为 NULL；为空时写入行的所有成员'],
    rowkindField: ['行类型字段', '指明更改类型的字段：insert、update、upsert 或 delete；没有时插入行'],
    keyField: ['键字段', 'update、upsert 与 delete 查找行所用的列；upsert 需要该列的唯一索引'],
  },
};
