/** The forms of operators in Chinese, by the names of operators and properties. */
import type { FormTexts } from '../../base/fields/form-texts.js';

export const operatorTexts: Readonly<Record<string, FormTexts>> = {
  filter: {
    name: '过滤',
    about: '只让满足条件的数据通过。',
    props: {
      expr: ['条件', '数据通过的条件'],
    },
  },
  function: {
    name: '函数',
    about: '为每条数据添加函数的值。',
    props: {
      expr: ['表达式', '带别名的函数调用'],
    },
  },
  aggfunc: {
    name: '聚合函数',
    about: '为每个分组添加聚合函数的值。',
    props: {
      expr: ['表达式', '带别名的聚合函数调用'],
    },
  },
  pick: {
    name: '选择',
    about: '选择要保留的列。',
    props: {
      fields: ['字段', '列和表达式'],
    },
  },
  window: {
    name: '窗口',
    about: '按时间或数量收集数据。',
    props: {
      type: ['类型', '窗口的类型'],
      unit: ['单位', '长度和间隔的单位'],
      size: ['长度', '窗口的长度，以单位或条数计'],
      interval: ['间隔时间', '两个窗口的间隔，以单位或条数计'],
      partitionBy: ['分区', '表达式：值相同的行各有自己的会话、计数或滑动窗口'],
    },
  },
  join: {
    name: '连接',
    about: '在窗口中连接多个流的数据。',
    props: {
      from: ['来源', '第一个流'],
      joins: ['连接项', '其他流，各带连接类型和条件'],
    },
  },
  groupby: {
    name: '分组',
    about: '对窗口中的数据分组。',
    props: {
      dimensions: ['维度', '分组表达式'],
    },
  },
  orderby: {
    name: '排序',
    about: '对一条消息中的数据排序。',
    props: {
      sorts: ['排序项', '列及其排序方向'],
    },
  },
  switch: {
    name: '分支',
    about: '将数据发送到首个或每个满足条件的分支。',
    props: {
      cases: ['分支条件', '每个分支的条件'],
      stopAtFirstMatch: ['首个匹配后停止', '只有首个满足条件的分支得到数据'],
    },
  },
  script: {
    name: '脚本',
    about: '用 JavaScript 函数处理数据。',
    props: {
      script: ['脚本', '含有函数 exec(msg, meta) 的脚本'],
      isAgg: ['聚合', '函数一次处理窗口中的全部数据'],
    },
  },
};
