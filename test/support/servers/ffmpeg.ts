/** The program ffmpeg, and videos that it makes. */
import { spawnSync } from 'node:child_process';
import * as assert from 'uvu/assert';
import { announceSkip } from '../harness.js';

/** Whether ffmpeg is there; where it is missing the tests are skipped, in CI that is a failure. */
export function needsFfmpeg(what: string): boolean {
  if (spawnSync('ffmpeg', ['-version']).status === 0) return true;
  const reason = 'ffmpeg is not installed';
  if (process.env.CI === 'true') throw new Error(`${what}: ${reason}`);
  announceSkip(what, reason);
  return false;
}

/** Makes a video of a moving test image at 10 images a second. */
export function makeVideo(path: string, seconds: number): void {
  const source = `testsrc=duration=${seconds}:size=160x120:rate=10`;
  const made = spawnSync('ffmpeg', ['-y', '-loglevel', 'error', '-f', 'lavfi', '-i', source, '-c:v', 'mpeg4', path]);
  assert.is(made.status, 0, made.stderr.toString());
}

/** An image of the test source. */
export function makeImage(codec: 'mjpeg' | 'png'): Buffer {
  const args = ['-loglevel', 'error', '-f', 'lavfi', '-i', 'testsrc=size=64x48', '-frames:v', '1'];
  const made = spawnSync('ffmpeg', [...args, '-f', 'image2pipe', '-c:v', codec, 'pipe:1']);
  assert.is(made.status, 0, made.stderr.toString());
  return made.stdout;
}
