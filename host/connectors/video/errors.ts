/** Failures of videos. */
import { errorTable } from '../../base/errors.js';

export const videoErrors = errorTable('video', {
  noProgram: ['config', 'video source: the program ffmpeg is not installed, or not in PATH'],
  program: ['config', (reason: string) => `video source: ffmpeg can't be started: ${reason}`],
  input: ['config', (reason: string) => `video source: ${reason}`],
  ended: ['connection', (reason: string) => `video source: ffmpeg: ${reason}`],
});
