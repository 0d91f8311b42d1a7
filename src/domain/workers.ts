/** Maximum number of workers per store. Workers are numbered from 1; 0 is the supervisor. */
export const maxWorkers = 255;
