/** The forms of image in Chinese. */
import type { ConnectorTexts } from '../define.js';

export const chinese: ConnectorTexts = {
  name: '图像',
  about: '将图像写入文件夹，每个字节列为一个文件，并删除最旧的图像。',
  sink: {
    path: [
      '路径',
      '图像的文件夹，缺少时创建；相对路径位于数据文件夹中。各规则应使用不同的文件夹，因为每个规则都会删除旧图像',
    ],
    imageFormat: ['图像格式', '图像必须具有的格式'],
    maxAge: ['最长保留', '图像保留的小时数；0 表示不删除'],
    maxCount: ['最大数量', '文件夹中的图像数；超出时删除最旧的。0 表示不限'],
  },
};
