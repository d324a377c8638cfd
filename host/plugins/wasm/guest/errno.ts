/** Errors of the system interface (WASI preview 1), by their numbers. */
export const Errno = {
  ok: 0,
  badFile: 8,
  fault: 21,
  invalid: 28,
  isFolder: 31,
  tooManyOpen: 33,
  nameTooLong: 37,
  noEntry: 44,
  noFolder: 54,
  notSupported: 58,
  readOnly: 69,
  seekPipe: 70,
  notCapable: 76,
} as const;
