/** The forms of nexmark in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: 'Nexmark',
  about: '依次生成 Nexmark 基准测试的事件：人员、拍卖和出价。',
  source: {
    qps: ['每秒事件数', '每秒生成的事件数'],
    bufferSize: ['缓冲大小', '规则暂停后恢复时补发的事件数'],
    excludePerson: ['排除人员', '不发送人员事件'],
    excludeAuction: ['排除拍卖', '不发送拍卖事件'],
    excludeBid: ['排除出价', '不发送出价事件'],
  },
};
