// SPDX-License-Identifier: Apache-2.0

import * as React from 'react';
import {AppContext} from './context';

export const AppContextReact = React.createContext<AppContext>(null);
