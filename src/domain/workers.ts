/** Maximum number of workers of a store. They are numbered from 1; 0 is the supervisor. */
export const maxWorkers = 255;
