/** Names of folders in the data folder that control plane and data plane both know. */

/**
 * Name of the folder of marks, which say that checkpoints count together (plane/state/checkpoint/marks.ts), beside the
 * folder of all checkpoints.
 */
export const marksFolder = 'checkpoint-marks';
