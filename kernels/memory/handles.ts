/** Numbers that stand for kernel objects; 0 is never valid. */
export type StreamHandle = number;
export type NodeHandle = number;
