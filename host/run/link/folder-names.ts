/** Names of folders in the data folder that control plane and data plane both know. */

/**
 * What says which checkpoints of several rules count together (plane/state/checkpoint/marks.ts), beside the folder of
 * all checkpoints.
 */
export const marksFolder = 'checkpoint-marks';
