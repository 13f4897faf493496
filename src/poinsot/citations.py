"""BibTeX of the methods that estimates use."""

from __future__ import annotations

from collections.abc import Iterable

ENTRIES = {
    "brunot2017": """@inproceedings{brunot2017,
  title = {State space estimation method for the identification of an industrial robot arm},
  author = {Brunot, Mathieu and Janot, Alexandre and Carrillo, Francisco Javier},
  booktitle = {IFAC World Congress},
  year = {2017}
}""",
    "gautier2013": """@article{gautier2013,
  title = {A new closed-loop output error method for parameter identification of robot dynamics},
  author = {Gautier, Maxime and Janot, Alexandre and Vandanjon, Pierre-Olivier},
  journal = {IEEE Transactions on Control Systems Technology},
  volume = {21}, number = {2}, pages = {428--444},
  year = {2013}
}""",
    "sousa2014": """@article{sousa2014,
  title = {Physical feasibility of robot base inertial parameter identification: a linear matrix inequality approach},
  author = {Sousa, Crist{\\'o}v{\\~a}o D. and Cortes{\\~a}o, Rui},
  journal = {The International Journal of Robotics Research},
  volume = {33}, number = {6}, pages = {931--944},
  year = {2014}
}""",
    "wensing2018": """@article{wensing2018,
  title = {Linear matrix inequalities for physically consistent inertial parameter identification:
    a statistical perspective on the mass distribution},
  author = {Wensing, Patrick M. and Kim, Sangbae and Slotine, Jean-Jacques E.},
  journal = {IEEE Robotics and Automation Letters},
  volume = {3}, number = {1}, pages = {60--67},
  year = {2018}
}""",
    "lee2020": """@article{lee2020,
  title = {Geometric robot dynamic identification: a convex programming approach},
  author = {Lee, Taeyoon and Wensing, Patrick M. and Park, Frank C.},
  journal = {IEEE Transactions on Robotics},
  volume = {36}, number = {2}, pages = {348--365},
  year = {2020}
}""",
    "janot2014": """@article{janot2014,
  title = {A generic instrumental variable approach for industrial robot identification},
  author = {Janot, Alexandre and Vandanjon, Pierre-Olivier and Gautier, Maxime},
  journal = {IEEE Transactions on Control Systems Technology},
  volume = {22}, number = {1}, pages = {132--145},
  year = {2014}
}""",
    "carpentier2019": """@inproceedings{carpentier2019,
  title = {The Pinocchio C++ library: a fast and flexible implementation of rigid body dynamics algorithms},
  author = {Carpentier, Justin and Saurel, Guilhem and Buondonno, Gabriele and Mirabel, Joseph and
            Lamiraux, Florent and Stasse, Olivier and Mansard, Nicolas},
  booktitle = {IEEE/SICE International Symposium on System Integration},
  year = {2019}
}""",
    "young2012": """@book{young2012,
  title = {Recursive Estimation and Time-Series Analysis},
  author = {Young, Peter C.},
  publisher = {Springer}, edition = {2},
  year = {2012}
}""",
    "newey1987": """@article{newey1987,
  title = {A simple, positive semi-definite, heteroskedasticity and autocorrelation consistent covariance matrix},
  author = {Newey, Whitney K. and West, Kenneth D.},
  journal = {Econometrica}, volume = {55}, number = {3}, pages = {703--708},
  year = {1987}
}""",
    "politis2003": """@article{politis2003,
  title = {Adaptive bandwidth choice},
  author = {Politis, Dimitris N.},
  journal = {Journal of Nonparametric Statistics}, volume = {15}, number = {4--5}, pages = {517--533},
  year = {2003}
}""",
    "kiefer2005": """@article{kiefer2005,
  title = {A new asymptotic theory for heteroskedasticity-autocorrelation robust tests},
  author = {Kiefer, Nicholas M. and Vogelsang, Timothy J.},
  journal = {Econometric Theory}, volume = {21}, number = {6}, pages = {1130--1164},
  year = {2005}
}""",
    "gautier2014": """@article{gautier2014,
  title = {Global identification of joint drive gains and dynamic parameters of robots},
  author = {Gautier, Maxime and Briot, S{\\'e}bastien},
  journal = {Journal of Dynamic Systems, Measurement, and Control},
  volume = {136}, number = {5}, pages = {051025},
  year = {2014}
}""",
    "kunsch1989": """@article{kunsch1989,
  title = {The jackknife and the bootstrap for general stationary observations},
  author = {K{\\"u}nsch, Hans R.},
  journal = {The Annals of Statistics}, volume = {17}, number = {3}, pages = {1217--1241},
  year = {1989}
}""",
    "swevers1997": """@article{swevers1997,
  title = {Optimal robot excitation and identification},
  author = {Swevers, Jan and Ganseman, Chris and T{\\"u}kel, Dilek Bilgin and De Schutter, Joris and
            Van Brussel, Hendrik},
  journal = {IEEE Transactions on Robotics and Automation}, volume = {13}, number = {5}, pages = {730--740},
  year = {1997}
}""",
    "kalman1960": """@article{kalman1960,
  title = {A new approach to linear filtering and prediction problems},
  author = {Kalman, Rudolf E.},
  journal = {Journal of Basic Engineering},
  volume = {82}, number = {1}, pages = {35--45},
  year = {1960}
}""",
    "bell2002": """@article{bell2002,
  title = {Bias reduction in standard errors for linear regression with multi-stage samples},
  author = {Bell, Robert M. and McCaffrey, Daniel F.},
  journal = {Survey Methodology},
  volume = {28}, number = {2}, pages = {169--181},
  year = {2002}
}""",
    "rucker2022": """@article{rucker2022,
  title = {Smooth parameterization of rigid-body inertia},
  author = {Rucker, Caleb and Wensing, Patrick M.},
  journal = {IEEE Robotics and Automation Letters},
  volume = {7}, number = {2}, pages = {2771--2778},
  year = {2022}
}""",
    "foster2024": """@article{foster2024,
  title = {Physically consistent online inertial adaptation for humanoid loco-manipulation},
  author = {Foster, James and McCrory, Stephen and DeBuys, Christian and Bertrand, Sylvain and Griffin, Robert},
  journal = {arXiv preprint},
  year = {2024}
}""",
    "lacoursiere2007": """@phdthesis{lacoursiere2007,
  title = {Ghosts and machines: regularized variational methods for interactive simulations of multibodies with dry
    frictional contacts},
  author = {Lacoursi{\\`e}re, Claude},
  school = {Ume{\\aa} University},
  year = {2007}
}""",
    "martinez2024": """@article{martinez2024,
  title = {Multi-contact inertial estimation and localization in legged robots},
  author = {Martinez, Sergi and Griffin, Robert and Mastalli, Carlos},
  journal = {arXiv preprint},
  year = {2024}
}""",
    "bell1993": """@article{bell1993,
  title = {The iterated {Kalman} filter update as a {Gauss-Newton} method},
  author = {Bell, Bradley M. and Cathey, Frederick W.},
  journal = {IEEE Transactions on Automatic Control},
  volume = {38}, number = {2}, pages = {294--297},
  year = {1993}
}""",
    "savitzky1964": """@article{savitzky1964,
  title = {Smoothing and differentiation of data by simplified least squares procedures},
  author = {Savitzky, Abraham and Golay, Marcel J. E.},
  journal = {Analytical Chemistry},
  volume = {36}, number = {8}, pages = {1627--1639},
  year = {1964}
}""",
    "gabiccini2019": """@unpublished{gabiccini2019,
  title = {On state and inertial parameter estimation of free-falling planar rigid bodies subject to unscheduled
    frictional impacts},
  author = {Gabiccini, Marco and Fusco, Francesco},
  year = {2019}
}""",
    "stewart1996": """@article{stewart1996,
  title = {An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and {Coulomb} friction},
  author = {Stewart, David E. and Trinkle, Jeffrey C.},
  journal = {International Journal for Numerical Methods in Engineering},
  volume = {39}, number = {15}, pages = {2673--2691},
  year = {1996}
}""",
    "huber1981": """@book{huber1981,
  title = {Robust Statistics},
  author = {Huber, Peter J.},
  publisher = {Wiley},
  year = {1981}
}""",
}


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, once each, in their order."""
    return "\n\n".join(ENTRIES[key] for key in dict.fromkeys(keys))
