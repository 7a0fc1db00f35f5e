"""The datasets of TrackEval."""

from steelyard.compat.trackeval.datasets.kitti_2d_box import Kitti2DBox
from steelyard.compat.trackeval.datasets.kitti_mots import KittiMOTS
from steelyard.compat.trackeval.datasets.mot_challenge_2d_box import MotChallenge2DBox
from steelyard.compat.trackeval.datasets.mots_challenge import MOTSChallenge

__all__ = ["Kitti2DBox", "KittiMOTS", "MOTSChallenge", "MotChallenge2DBox"]
