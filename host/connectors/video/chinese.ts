/** The forms of video in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '视频',
  about: '从视频或摄像头获取图像。需要安装 ffmpeg 程序。',
  source: {
    url: ['地址', '视频的地址：rtsp、rtsps、rtmp、rtmps、http、https、udp、rtp、tcp、srt，或文件的路径'],
    interval: ['间隔时间', '两幅图像之间的时间；0 表示获取视频的每幅图像'],
    codec: ['编码', '图像的格式：mjpeg 为 JPEG，png 为 PNG'],
    inputArgs: ['输入参数', 'ffmpeg 的输入选项，例如 {"rtsp_transport":"tcp"}；拒绝指定文件的选项'],
    debugResp: ['记录输出', '将 ffmpeg 的输出写入日志'],
  },
};
