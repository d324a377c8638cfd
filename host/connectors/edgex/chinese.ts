/** The forms of edgex in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  about: '从 EdgeX Foundry 的消息总线接收事件，并将行作为事件发布。',
  dataSource: '消息总线的主题，topic 为空时使用',
  connection: {
    protocol: ['协议', 'tcp，或使用 TLS 的 ssl、tls、mqtts、rediss'],
    server: ['服务器', '消息总线的主机'],
    port: ['端口', '消息总线的端口；0 表示默认端口'],
    type: ['类型', '消息总线的类型'],
    optional: ['可选配置', '消息总线的选项'],
  },
  source: {
    topic: ['主题', '消息总线的主题；可使用通配符 + 和 #'],
    messageType: ['消息类型', '消息内容：事件，或添加事件的请求'],
  },
  sink: {
    topic: ['主题', '消息总线的主题；为空时为 application 或由主题前缀得出'],
    topicPrefix: ['主题前缀', '主题的开头，其后为事件的 profile、device 和 source 名称'],
    messageType: ['消息类型', '发送事件，或添加事件的请求'],
    contentType: ['内容类型', '信封中的内容类型'],
    metadata: ['元数据', '包含事件及读数元数据的列'],
    profileName: ['Profile 名称', '元数据中没有时事件的 profile'],
    deviceName: ['设备名称', '元数据中没有时事件的设备'],
    sourceName: ['来源名称', '元数据中没有时事件的来源；为空时为规则的 id'],
  },
};
