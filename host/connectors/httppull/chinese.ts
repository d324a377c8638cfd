/** The forms of httppull in Chinese. */
import { httpTexts } from '../../http/chinese.js';
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '按间隔通过 HTTP 请求服务器并接收其应答。',
  dataSource: '附加到地址后的路径',
  source: {
    ...httpTexts,
    url: ['地址', '请求的地址；DATASOURCE 附加其后'],
    body: ['正文', '请求的正文'],
    compression: ['压缩', '应答自身未说明（Content-Encoding）时的压缩方式'],
    interval: ['间隔', '两次请求之间的时间'],
    incremental: ['增量', '忽略与上次相同的应答'],
    nextLink: ['下一页链接', '应答中下一页地址的位置：link 表示 Link 头，或成员路径，例如 paging.next'],
    nextCursor: ['下一页游标', '下一页游标的成员路径，例如 meta.next；在 url、body 与 headers 中为 {{.cursor}}'],
    maxPages: ['最多页数', '每个间隔最多请求的页数'],
    states: ['状态', 'url、body 与 headers 中模板的值；应答中同名的成员会替换它们'],
  },
};
