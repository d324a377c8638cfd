/** Images of a video: the program ffmpeg reads it, and gives an image per row. */
import { field } from '../../base/fields/field.js';
import { commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { inputArgsReason, urlReason, videoFile } from './input.js';

export default defineConnector({
  name: 'video',
  doc: 'Takes images from a video or camera. The program ffmpeg has to be installed.',
  chinese: async () => (await import('./chinese.js')).chinese,
  source: {
    showsDecoder: true,
    props: {
      ...commonSource,
      url: field
        .address()
        .required()
        .check(urlReason)
        .doc('Address of the video: rtsp, rtsps, rtmp, rtmps, http, https, udp, rtp, tcp, srt, or the path of a file'),
      interval: field.duration().min(0).default(0).doc('Time between two images; 0 takes each image of the video'),
      codec: field
        .string()
        .oneOf('mjpeg', 'png')
        .default('mjpeg')
        .doc('Form of the images: mjpeg gives JPEG, png gives PNG'),
      inputArgs: field
        .map()
        .default({})
        .check(inputArgsReason)
        .doc('Options of ffmpeg for the input, such as {"rtsp_transport":"tcp"}; those that name files are refused'),
      debugResp: field.bool().default(false).doc('Log what ffmpeg says'),
    },
    files: ({ url }) => ({ url: videoFile(url) ?? '' }),
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const { VideoSource } = await import('./source.js');
      return (conf, context) => new VideoSource(conf, context);
    },
  },
});
